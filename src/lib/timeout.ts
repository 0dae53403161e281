/**
 * Waits for work for so many milliseconds, and throws the fault if it takes longer; the work itself goes on. Leaves no timer behind: an
 * object with one is kept awake, and paid for.
 */
export async function within<T>(
  patience: number,
  work: Promise<T>,
  fieldError: () => Error = () => new Error(`no answer within ${patience} ms`),
): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | null = null
  const tooLong = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(fieldError()), patience)
  })
  try {
    return await Promise.race([work, tooLong])
  } finally {
    clearTimeout(timer)
  }
}
