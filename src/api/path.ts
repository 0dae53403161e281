/**
 * The path of a request as it was sent: percent-encoding is kept. Routes are matched on it. So their fixed
 * parts have only one spelling, which the rules of a firewall can name too. Parameters are decoded once,
 * after that (U1). The path ends before the query.
 */
export function rawPath(url: string): string {
  const start = url.indexOf('/', url.indexOf('://') + 3)
  if (start === -1) return '/'
  const end = url.slice(start).search(/[?#]/)
  return end === -1 ? url.slice(start) : url.slice(start, start + end)
}
