/**
 * A value as JSON.
 *
 * @throws TypeError if it has no form in JSON. A number that is not finite would become `null`, which says
 * something else
 */
export function jsonOf(value: unknown): string {
  return JSON.stringify(value, (name, one: unknown) => {
    if (typeof one === 'number' && !Number.isFinite(one))
      throw new TypeError(`"${name}" must be a finite number.`)
    return one
  })
}
