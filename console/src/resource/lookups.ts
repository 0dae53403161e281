import type { List } from '@laurel/client'
import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { useAdmin } from '../api/laurel'
import type { Option } from '../ui/select'
import { nameOr } from '../ui/text'
import type { Admin } from './resource'

/** Other resources that forms and texts name. */
export type Named = { id: string; key: string; name: string }
export type Attribute = Named & { type: 'user' | 'event' }
export type Metric = Named & { units: string; unitType: string }

/** A list of resources by id and key. Empty while it is loading. */
export type Lookup<T extends Named> = {
  all: readonly T[]
  isLoading: boolean
  find: (idOrKey: string | null | undefined) => T | undefined
  /** The name; the key or id itself if it is not known. */
  nameOf: (idOrKey: string | null | undefined) => string
}

export type Lookups = {
  metrics: Lookup<Metric>
  points: Lookup<Named>
  achievements: Lookup<Named>
  attributes: Lookup<Attribute>
  /** Whether some of them are loading: names are not known yet. */
  isLoading: boolean
}

/** A list of names that changes rarely: it is read again after a write, and after a minute. It has at most 1,000. */
function useLookup<T extends Named>(
  needs: readonly LookupName[],
  name: LookupName,
  of: (admin: Admin) => { list(): List<T> },
): Lookup<T> {
  const admin = useAdmin()
  const isWanted = needs.includes(name)
  const { data, isLoading } = useQuery({
    queryKey: [`/${name}`, 'all'],
    queryFn: () => of(admin).list().toArray(),
    enabled: isWanted,
    staleTime: 60_000,
  })
  return useMemo(() => {
    const known = data ?? []
    const find = (idOrKey: string | null | undefined) =>
      known.find(({ id, key }) => id === idOrKey || key === idOrKey)
    return {
      all: known,
      // Another part of the page may read a list that is not wanted here: nobody waits for that.
      isLoading: isWanted && isLoading,
      find,
      nameOf: (one) => nameOr(find(one)?.name, one ?? ''),
    }
  }, [data, isWanted, isLoading])
}

/** Things as the choices of a list, by their ids or keys. */
export const choicesOf = (things: readonly Named[], by: 'id' | 'key' = 'id'): Option[] =>
  things.map(({ name, [by]: value }) => ({ value, label: nameOr(name, value) }))

export type LookupName = Exclude<keyof Lookups, 'isLoading'>

/** The lookups that a page needs: none by default. The others stay empty, and ask for nothing. */
export function useLookups(needs: readonly LookupName[] = []): Lookups {
  const metrics = useLookup(needs, 'metrics', (admin) => admin.metrics)
  const points = useLookup<Named>(needs, 'points', (admin) => admin.points)
  const achievements = useLookup<Named>(needs, 'achievements', (admin) => admin.achievements)
  const attributes = useLookup(needs, 'attributes', (admin) => admin.attributes)
  return useMemo(() => {
    const all = { metrics, points, achievements, attributes }
    return { ...all, isLoading: Object.values(all).some(({ isLoading }) => isLoading) }
  }, [metrics, points, achievements, attributes])
}
