import type { Call } from '../core/call.js'
import type { AnswerOf, Core, ItemOf, OperationId, QueryOf } from '../core/core.js'
import type { List } from '../core/list.js'
import type { CallOptions } from '../core/options.js'
import type { Operations } from '../generated/operations.js'

/** The paths of resources with the five operations of a collection. */
export type CollectionPath = {
  [Id in OperationId]: Id extends `PATCH ${infer Path}`
    ? `GET ${Path}/{id}` extends OperationId
      ? Path
      : never
    : never
}[OperationId]

/** The collection of an admin resource, such as the metrics. */
export class AdminCollection<Path extends CollectionPath> {
  readonly #core: Core
  readonly #path: Path

  constructor(core: Core, path: Path) {
    this.#core = core
    this.#path = path
  }

  /** Lists the items, oldest first. */
  list(query?: QueryOf<`GET ${Path}`>, options?: CallOptions): List<ItemOf<AnswerOf<`GET ${Path}`>>> {
    return this.#core.listAny('skip', `GET ${this.#path}`, { query }, options)
  }

  /** Creates items. One that cannot be created is an entry in `issues`. */
  create(items: Operations[`POST ${Path}`]['body'], options?: CallOptions): Call<AnswerOf<`POST ${Path}`>> {
    return this.#core.callAny(`POST ${this.#path}`, { body: items }, options)
  }

  /** Updates the passed fields of items. One that cannot be updated is an entry in `issues`. */
  update(items: Operations[`PATCH ${Path}`]['body'], options?: CallOptions): Call<AnswerOf<`PATCH ${Path}`>> {
    return this.#core.callAny(`PATCH ${this.#path}`, { body: items }, options)
  }

  /** Deletes items by their ids or keys. */
  delete(query: QueryOf<`DELETE ${Path}`>, options?: CallOptions): Call<AnswerOf<`DELETE ${Path}`>> {
    return this.#core.callAny(`DELETE ${this.#path}`, { query }, options)
  }

  /** Gets an item by its id or key. */
  get(id: string, options?: CallOptions): Call<AnswerOf<`GET ${Path}/{id}`>> {
    return this.#core.callAny(`GET ${this.#path}/{id}`, { path: { id } }, options)
  }
}
