'use client'

/** Is shown if the page cannot be rendered, for example because Laurel does not answer. */
export default function Failure({ retry }: { retry: () => void }) {
  return (
    <main className="narrow">
      <div className="card" role="alert">
        <h1>The page could not be loaded</h1>
        <p>Your entries are safe. Try again in a moment.</p>
        <button type="button" className="button" onClick={retry}>
          Try again
        </button>
      </div>
    </main>
  )
}
