/** Small parts that several pages share. */
import { type ReactNode, useEffect, useRef } from 'react'

/** The background of the pages that have nothing else. */
export const Sky = ({ children }: { children?: ReactNode }) => <div className="sky">{children}</div>

export function Failure({ error, retry }: { error: Error; retry: () => void }) {
  return (
    <div className="failure" role="alert">
      <p>{error.message}</p>
      <button type="button" className="button" onClick={retry}>
        Try again
      </button>
    </div>
  )
}

/** The heading of a page. It takes the focus, so that a screen reader says where the user is. */
export function PageTitle({ children, title }: { children: ReactNode; title: string }) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = title === '' ? 'Stargazer' : `${title} – Stargazer`
    heading.current?.focus()
  }, [title])
  return (
    <h1 ref={heading} tabIndex={-1}>
      {children}
    </h1>
  )
}

export const Art = ({ name, size }: { name: string; size: number }) => (
  <img src={`/art/${name}.svg`} alt="" width={size} height={size} />
)
