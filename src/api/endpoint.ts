import type { Claim } from '../access/access'
import type { AccountScope, Scope } from '../platform/context'
import type { App } from './hono'
import { type Stage, serve } from './mount'
import type { Input, OperationSpec, Reply } from './operation'

/** An operation with its handler. */
export type Endpoint = { spec: OperationSpec; serve: (app: App) => void }

type Route = `${'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} /${string}`

/** What an endpoint declares beside its interface and its route. */
type Parts = Omit<OperationSpec, 'surface' | 'method' | 'path'>

type Spec<P extends Parts> = P & Pick<OperationSpec, 'surface' | 'method' | 'path'>

/** The scope of an endpoint: the tenant, or the whole account if the operation is about that (T2). */
type ScopeOf<P extends Parts> = P extends { account: true } | { tenantOrAccount: true } ? AccountScope : Scope

/** The handler, which gets valid input and what `find` has found. Streams confirm their claim again and again. */
type Handle<P extends Parts, F> = (
  scope: ScopeOf<P>,
  input: Input<Spec<P>>,
  found: F,
  claim: Claim,
) => Promise<Reply<Spec<P>>>

/**
 * Declares the endpoints of an interface: each with its route, what the OpenAPI document says of it, the stages
 * that are its own, if any, and its handler. The schemas give the handler its types.
 */
export function endpointsOf(surface: OperationSpec['surface']) {
  function endpoint<const P extends Parts>(route: Route, parts: P, handle: Handle<P, undefined>): Endpoint
  function endpoint<const P extends Parts, F = undefined>(
    route: Route,
    parts: P,
    stage: Stage<F, ScopeOf<P>>,
    handle: Handle<P, F>,
  ): Endpoint
  function endpoint<const P extends Parts, F>(
    route: Route,
    parts: P,
    first: Stage<F, ScopeOf<P>> | Handle<P, F>,
    second?: Handle<P, F>,
  ): Endpoint {
    const [stage, handle] = typeof first === 'function' ? [{}, first] : [first, second]
    if (handle === undefined) throw new Error(`${route} has no handler.`)
    const [method = '', path = ''] = route.split(' ')
    // biome-ignore lint/plugin: the route's type says which methods there are.
    const spec: Spec<P> = { ...parts, surface, method: method.toLowerCase() as OperationSpec['method'], path }
    return { spec, serve: (app) => serve(app, spec, stage, handle) }
  }
  return endpoint
}
