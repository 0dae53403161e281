/**
 * What is thrown out of an object's method is written out by the run time, a dozen lines each, even where its caller catches it. Of those that the
 * simulation throws there are hundreds, which nobody wants to read.
 */
export default function setup(): () => void {
  const { stdout, stderr } = process
  const before = [stdout, stderr].map((stream) => [stream, stream.write] as const)
  for (const [stream, write] of before) {
    stream.write = (text: string | Uint8Array, ...rest: []) => {
      const isSimulated = typeof text === 'string' && /^(uncaught )?exception\b.*simulated/s.test(text)
      return isSimulated || write.call(stream, text, ...rest)
    }
  }
  return () => {
    for (const [stream, write] of before) stream.write = write
  }
}
