/** The first line of an error report of the runtime. `MORE` matches the lines after it. */
const REPORT = /^((uncaught )?exception[ ;]|stack: \/|NOSENTRY )/
const MORE = /^ {4}at /

/** The output of the runtime without error reports. */
function withoutReports(text: string): string {
  let isReport = false
  return text
    .split('\n')
    .filter((line) => {
      isReport = REPORT.test(line) || (isReport && MORE.test(line))
      return !isReport
    })
    .join('\n')
}

/**
 * Hides error reports of the runtime. It prints a dozen lines for each error that an object's method throws,
 * and for each broken connection, even if the caller catches the error. Tests cause thousands of them, and
 * check their results themselves. `RUNTIME_LOG=on` shows everything.
 */
export default function setup(): () => void {
  if (process.env.RUNTIME_LOG === 'on') return () => undefined
  const { stdout, stderr } = process
  const before = [stdout, stderr].map((stream) => [stream, stream.write] as const)
  for (const [stream, write] of before) {
    stream.write = (text: string | Uint8Array, ...rest: []) => {
      const shown = typeof text === 'string' ? withoutReports(text) : text
      return shown === '' || write.call(stream, shown, ...rest)
    }
  }
  return () => {
    for (const [stream, write] of before) stream.write = write
  }
}
