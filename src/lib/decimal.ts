/** Whole millionths. Metric totals are stored in this unit, so that sums are exact (E1). */
export type Micros = number & { readonly micros: unique symbol }

export const MICROS_PER_UNIT = 1_000_000

const isMicros = (n: number): n is Micros => Number.isSafeInteger(n)

/** Brands a whole number of millionths. Throws a RangeError if a double can't hold it exactly. */
export function micros(n: number): Micros {
  if (!isMicros(n)) throw new RangeError(`not whole millionths: ${n}`)
  return n
}

/** A decimal number as `digits × 10^-scale`: the exact value of a number's shortest spelling. */
type Decimal = { digits: bigint; scale: number }

/** The exact value of a double's shortest spelling: 0.1 is one tenth, not 0.1000000000000000055. */
function decimalOf(value: number): Decimal {
  const [mantissa = '0', exponent = '0'] = String(value).toLowerCase().split('e')
  const [whole = '0', fraction = ''] = mantissa.split('.')
  const scale = fraction.length - Number(exponent)
  const digits = BigInt(whole + fraction)
  return scale >= 0 ? { digits, scale } : { digits: digits * 10n ** BigInt(-scale), scale: 0 }
}

/** Converts a finite value from -1e9 to 1e9 to whole millionths, rounded half away from zero (E1). */
export function toMicros(value: number): Micros {
  if (Number.isInteger(value)) return micros(value * MICROS_PER_UNIT)
  const { digits, scale } = decimalOf(value)
  if (scale <= 6) return micros(Number(digits * 10n ** BigInt(6 - scale)))
  const divisor = 10n ** BigInt(scale - 6)
  const size = digits < 0n ? -digits : digits
  const rounded = Number((2n * size + divisor) / (2n * divisor))
  return micros(digits < 0n && rounded !== 0 ? -rounded : rounded)
}

/** Converts whole millionths to the number in responses. A sum of changes may be beyond `Micros` (E1). */
export function fromMicros(total: number): number {
  return total / MICROS_PER_UNIT
}

/** How fractions of points are rounded (P5). */
export const ROUNDINGS = ['down', 'up', 'nearest'] as const
export type Rounding = (typeof ROUNDINGS)[number]

/** Multiplies whole positive `points` exactly, and rounds once (P5). The result is at most 2^53 - 1. */
export function multiply(points: number, multipliers: readonly number[], rounding: Rounding): number {
  let digits = BigInt(points)
  let scale = 0
  for (const multiplier of multipliers) {
    const factor = decimalOf(multiplier)
    digits *= factor.digits
    scale += factor.scale
  }
  const divisor = 10n ** BigInt(scale)
  const whole = digits / divisor
  const rest = digits % divisor
  const up = rounding === 'up' ? rest > 0n : rounding === 'nearest' && 2n * rest >= divisor
  const result = up ? whole + 1n : whole
  return result > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(result)
}

/** The largest whole number that typed clients can read (G11). */
export const INT32_MAX = 2_147_483_647
