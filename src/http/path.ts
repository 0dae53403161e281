/**
 * The path of a request as it came: what is percent-encoded stays so. Routes are matched on it, so that their fixed parts have one spelling,
 * the one that rules of a firewall name too; parameters are decoded once, after that (U1). It ends before the query.
 */
export function rawPath(url: string): string {
  const start = url.indexOf('/', url.indexOf('://') + 3)
  if (start === -1) return '/'
  const end = url.slice(start).search(/[?#]/)
  return end === -1 ? url.slice(start) : url.slice(start, start + end)
}
