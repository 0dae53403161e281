'use client'
import { createContext, type ReactNode, useContext, useMemo } from 'react'
import { defaultLabels } from './default-labels.ts'
import { type Format, formatOf } from './format.ts'
import type { Labels } from './labels.ts'

export interface SettingsProps {
  /** BCP 47 tag such as `de-AT`. `en` by default, so that servers and browsers agree. */
  locale?: string | undefined
  /** IANA zone in which instants are shown. `UTC` by default. Dates of streaks need none. */
  timeZone?: string | undefined
  /** Texts that replace the English ones, all or some. */
  labels?: Partial<Labels> | undefined
  /** First column of calendars: 1 is Monday (default), 7 is Sunday. */
  firstDayOfWeek?: 1 | 2 | 3 | 4 | 5 | 6 | 7 | undefined
  /** The address of a user's picture, by the user's id. Leaderboards show it. */
  avatar?: ((userId: string) => string | null | undefined) | undefined
  /** True for no motion. Otherwise the user's system decides. */
  reducedMotion?: boolean | undefined
}

export interface Settings<Key extends keyof Labels = keyof Labels> {
  format: Format
  timeZone: string
  labels: Pick<Labels, Key>
  firstDayOfWeek: number
  avatar?: SettingsProps['avatar']
  reducedMotion: boolean
}

const fallback: Settings<never> & { labels: Partial<Labels> } = {
  format: formatOf('en', 'UTC'),
  timeZone: 'UTC',
  labels: {},
  firstDayOfWeek: 1,
  reducedMotion: false,
}

const SettingsContext = createContext(fallback)

/**
 * Language, time zone and texts of the components inside. `LaurelProvider` contains it. Props that are absent
 * are those of the settings around it.
 */
export function LaurelSettings({ children, ...props }: SettingsProps & { children: ReactNode }) {
  const outer = useContext(SettingsContext)
  const { labels } = props
  const locale = props.locale ?? outer.format.locale
  const timeZone = props.timeZone ?? outer.timeZone
  const firstDayOfWeek = props.firstDayOfWeek ?? outer.firstDayOfWeek
  const avatar = props.avatar ?? outer.avatar
  const reducedMotion = props.reducedMotion ?? outer.reducedMotion
  const format = useMemo(() => formatOf(locale, timeZone), [locale, timeZone])
  const settings = useMemo(
    () => ({
      format,
      timeZone,
      labels: { ...outer.labels, ...labels },
      firstDayOfWeek,
      avatar,
      reducedMotion,
    }),
    [format, timeZone, outer.labels, labels, firstDayOfWeek, avatar, reducedMotion],
  )
  return <SettingsContext.Provider value={settings}>{children}</SettingsContext.Provider>
}

/** The settings, with some texts that the app may have replaced. */
export function useSettings<Key extends keyof Labels>(texts: Pick<Labels, Key>): Settings<Key> {
  const settings = useContext(SettingsContext)
  return { ...settings, labels: { ...texts, ...settings.labels } }
}

/** The settings that components use, for parts of your own. */
export const useLaurelSettings = (): Settings => useSettings(defaultLabels)
