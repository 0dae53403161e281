/**
 * A value as JSON.
 *
 * @throws TypeError if it has no form in JSON. A number that is not finite, and an invalid date, would become
 * `null`, which says something else
 */
export function jsonOf(value: unknown): string {
  return JSON.stringify(value, function (this: Readonly<Record<string, unknown>>, name, one: unknown) {
    if (typeof one === 'number' && !Number.isFinite(one))
      throw new TypeError(`"${name}" must be a finite number.`)
    // `one` is what the date has made of itself.
    if (one === null && this[name] instanceof Date) throw new TypeError(`"${name}" must be a valid date.`)
    return one
  })
}
