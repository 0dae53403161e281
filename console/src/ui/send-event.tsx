import { Link } from '@tanstack/react-router'
import { Code } from './page'
import { CopyButton } from './secret'

/** Stands for a key in the command: no page shows a key again. */
const PLACEHOLDER = 'YOUR_API_KEY'

/** A command that sends one event of a metric. It has a placeholder instead of a key. */
const commandFor = (metricKey: string) =>
  [
    `curl -X POST ${location.origin}/v1/metrics/${encodeURIComponent(metricKey)}/event`,
    `-H 'X-API-KEY: ${PLACEHOLDER}'`,
    "-H 'Content-Type: application/json'",
    `-d '{"user": {"id": "user-1", "name": "First user"}, "value": 1}'`,
  ].join(' \\\n  ')

/** How to send an event of a metric from a terminal. */
export function SendEvent({ metricKey }: { metricKey: string }) {
  const command = commandFor(metricKey)
  return (
    <div className="flex flex-col items-start gap-3 text-left">
      <p className="text-quiet">
        Put an{' '}
        <Link to="/api-keys" className="font-medium text-accent hover:underline">
          admin key
        </Link>{' '}
        in place of <Code>{PLACEHOLDER}</Code>, and run this in a terminal. Your server sends such a request
        each time a user does something that counts, with the id of that user.
      </p>
      <section
        aria-label="Command"
        className="w-full overflow-auto rounded-md border border-line bg-sunken p-3"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by the keyboard.
        tabIndex={0}
      >
        <pre className="font-mono text-xs">{command}</pre>
      </section>
      <CopyButton text={command} label="Copy the command" />
    </div>
  )
}
