/**
 * The value of a header that may have been sent several times. The run time joins the values with `, `, and
 * does not tell them from one value. Equal values become one; others stay joined (E4).
 */
export function unrepeated(value: string): string {
  const [first = '', ...others] = value.split(', ')
  return others.every((other) => other === first) ? first : value
}
