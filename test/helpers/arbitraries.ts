import fc from 'fast-check'

/** A choice of `fc.oneof` that comes as often as its weight says. */
export const often = <T>(weight: number, arbitrary: fc.Arbitrary<T>) => ({ weight, arbitrary })

/** A step of a random world: what is done, and its fields. */
export const step = <const N extends string, F>(name: N, fields: { [K in keyof F]: fc.Arbitrary<F[K]> }) =>
  fc.record(fields).map((one) => ({ do: name, ...one }))
