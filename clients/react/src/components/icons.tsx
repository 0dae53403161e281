import type { ReactNode } from 'react'

function Icon({ children }: { children: ReactNode }) {
  return (
    <svg
      className="laurel-icon"
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth="2"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      focusable="false"
    >
      {children}
    </svg>
  )
}

// Each icon is a function. Then bundlers can leave out the icons that an app does not use.

export const FlameIcon = () => (
  <Icon>
    <path
      className="laurel-flame-outer"
      d="M12.6 2.2c.3 3 1.9 4.7 3.5 6.5 1.6 1.8 3.1 3.7 3.1 6.5a7.2 7.2 0 0 1-14.4 0c0-2.3.9-4.2 2.4-5.8.3 1.3.9 2.2 1.8 2.7-.2-3.7.9-7.3 3.6-9.9z"
    />
    <path
      className="laurel-flame-inner"
      stroke="none"
      d="M12 20.8c-2 0-3.5-1.5-3.5-3.4 0-2 1.5-3 2.5-4.8 1 1.3 1.4 1.6 2.5 2.4 1 .7 2 1.4 2 2.6 0 1.8-1.5 3.2-3.5 3.2z"
    />
  </Icon>
)
export const FreezeIcon = () => (
  <Icon>
    <g strokeWidth="1.8">
      {[0, 60, 120].map((angle) => (
        <path
          key={angle}
          transform={`rotate(${angle} 12 12)`}
          d="M12 2.5v19M9.7 4.3 12 6.6l2.3-2.3M9.7 19.7 12 17.4l2.3 2.3"
        />
      ))}
    </g>
  </Icon>
)
export const BoltIcon = () => (
  <Icon>
    <path fill="currentColor" d="M13.5 2.5 5 13.2h5.8L9.8 21.5 19 10.3h-6.3z" />
  </Icon>
)
export const PointsIcon = () => (
  <Icon>
    <path
      fill="currentColor"
      d="m12 3 2.5 5.7 6.2.6-4.7 4.1 1.4 6.1L12 16.3l-5.4 3.2L8 13.4 3.3 9.3l6.2-.6z"
    />
  </Icon>
)
export const TrophyIcon = () => (
  <Icon>
    <path d="M8 3.5h8v6a4 4 0 0 1-8 0zM8 5.5H4.5v1.3A3.2 3.2 0 0 0 8 10M16 5.5h3.5v1.3A3.2 3.2 0 0 1 16 10M12 13.5v3.5M8.5 20.5h7M9.8 17h4.4l.8 3.5H9z" />
  </Icon>
)
export const LevelIcon = () => (
  <Icon>
    <path d="M12 2.8 19.5 6v5.6c0 4.3-3 7.9-7.5 9.6-4.5-1.7-7.5-5.3-7.5-9.6V6zM8.8 12.8 12 9.6l3.2 3.2" />
  </Icon>
)
export const LockIcon = () => (
  <Icon>
    <path d="M6.5 10.5h11v9h-11zM8.8 10.5V8a3.2 3.2 0 0 1 6.4 0v2.5" />
  </Icon>
)
export const CheckIcon = () => (
  <Icon>
    <path strokeWidth="2.6" d="m5.5 12.5 4.3 4.3 8.7-9.3" />
  </Icon>
)
export const PauseIcon = () => (
  <Icon>
    <path strokeWidth="3" d="M9 7v10M15 7v10" />
  </Icon>
)
export const CloseIcon = () => (
  <Icon>
    <path d="m6.5 6.5 11 11M17.5 6.5l-11 11" />
  </Icon>
)
export const BackIcon = () => (
  <Icon>
    <path d="m14.5 5.5-6.5 6.5 6.5 6.5" />
  </Icon>
)
export const UpIcon = () => (
  <Icon>
    <path fill="currentColor" strokeWidth="1.5" d="m12 7 6 9H6z" />
  </Icon>
)
export const ChartIcon = () => (
  <Icon>
    <path d="M5 20V12.5h4.5V20M9.5 20V5h5v15M14.5 20v-5H19v5M3.5 20h17" />
  </Icon>
)
