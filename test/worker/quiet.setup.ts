/** How the run time begins what it writes of an error, and goes on. */
const REPORT = /^((uncaught )?exception[ ;]|stack: \/|NOSENTRY )/
const MORE = /^ {4}at /

/** Of what the run time writes, what is no report of an error. */
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
 * What is thrown out of an object's method, and each connection that is cut, is written out by the run time, a dozen lines each, even
 * where its caller catches it. Tests cause thousands of them, and tell of what should not have been by themselves. `RUNTIME_LOG=on` shows all.
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
