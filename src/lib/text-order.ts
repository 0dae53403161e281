/**
 * Orders texts by code points, as SQLite orders them by UTF-8 bytes. JavaScript's own order is that of
 * UTF-16.
 */
export function compareText(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i += 1) {
    const [x, y] = [a.charCodeAt(i), b.charCodeAt(i)]
    if (x === y) continue
    const [isHighX, isHighY] = [isSurrogate(x), isSurrogate(y)]
    return isHighX === isHighY ? x - y : isHighX ? 1 : -1
  }
  return a.length - b.length
}

const isSurrogate = (unit: number) => unit >= 0xd800 && unit <= 0xdfff
