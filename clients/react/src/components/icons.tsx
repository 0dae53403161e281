import type { ReactNode } from 'react'

const icon = (content: ReactNode) =>
  function Icon({ className }: { className?: string }) {
    return (
      <svg
        className={className === undefined ? 'laurel-icon' : `laurel-icon ${className}`}
        viewBox="0 0 24 24"
        fill="none"
        stroke="currentColor"
        strokeWidth="2"
        strokeLinecap="round"
        strokeLinejoin="round"
        aria-hidden="true"
        focusable="false"
      >
        {content}
      </svg>
    )
  }

export const FlameIcon = icon(
  <>
    <path
      className="laurel-flame-outer"
      d="M12.6 2.2c.3 3 1.900 4.700 3.500 6.500 1.600 1.800 3.100 3.700 3.100 6.500a7.200 7.200 0 0 1-14.400 0c0-2.300.9-4.200 2.400-5.800.3 1.300.9 2.200 1.800 2.700-.2-3.700.9-7.300 3.600-9.900z"
    />
    <path
      className="laurel-flame-inner"
      stroke="none"
      d="M12 20.800c-2 0-3.500-1.500-3.500-3.400 0-2 1.500-3 2.500-4.800 1 1.300 1.400 1.600 2.500 2.400 1 .7 2 1.400 2 2.600 0 1.800-1.500 3.200-3.500 3.200z"
    />
  </>,
)
export const FreezeIcon = icon(
  <g strokeWidth="1.800">
    {[0, 60, 120].map((angle) => (
      <path
        key={angle}
        transform={`rotate(${angle} 12 12)`}
        d="M12 2.500v19M9.700 4.300 12 6.600l2.300-2.300M9.700 19.700 12 17.400l2.300 2.300"
      />
    ))}
  </g>,
)
export const BoltIcon = icon(
  <path fill="currentColor" d="M13.500 2.500 5 13.200h5.800L9.800 21.500 19 10.300h-6.300z" />,
)
export const PointsIcon = icon(
  <path
    fill="currentColor"
    d="m12 3 2.500 5.700 6.200.6-4.700 4.100 1.400 6.100L12 16.300l-5.400 3.200L8 13.400 3.300 9.300l6.200-.6z"
  />,
)
export const TrophyIcon = icon(
  <path d="M8 3.500h8v6a4 4 0 0 1-8 0zM8 5.500H4.500v1.300A3.200 3.200 0 0 0 8 10M16 5.500h3.500v1.300A3.200 3.200 0 0 1 16 10M12 13.500v3.500M8.500 20.500h7M9.800 17h4.400l.8 3.500H9z" />,
)
export const LevelIcon = icon(
  <path d="M12 2.800 19.500 6v5.600c0 4.300-3 7.900-7.500 9.600-4.500-1.700-7.500-5.300-7.500-9.600V6zM8.800 12.800 12 9.600l3.200 3.200" />,
)
export const LockIcon = icon(
  <path d="M6.500 10.500h11v9h-11zM8.800 10.500V8a3.200 3.200 0 0 1 6.400 0v2.500" />,
)
export const CheckIcon = icon(<path strokeWidth="2.600" d="m5.500 12.500 4.300 4.300 8.700-9.300" />)
export const PauseIcon = icon(<path strokeWidth="3" d="M9 7v10M15 7v10" />)
export const CloseIcon = icon(<path d="m6.500 6.500 11 11M17.500 6.500l-11 11" />)
export const BackIcon = icon(<path d="m14.500 5.500-6.500 6.500 6.500 6.500" />)
export const UpIcon = icon(<path fill="currentColor" strokeWidth="1.500" d="m12 7 6 9H6z" />)
export const ChartIcon = icon(
  <path d="M5 20V12.500h4.500V20M9.500 20V5h5v15M14.500 20v-5H19v5M3.500 20h17" />,
)
