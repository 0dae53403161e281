import { useEffect, useState } from 'react'
import { LaurelSettings } from '../src/index.ts'
import { Sections } from './sections.tsx'

const THEMES = ['system', 'light', 'dark', 'both'] as const
const LOCALES = ['en', 'de', 'ar', 'hi', 'ja']

/** The switches, which are in the address too: `?theme=dark&dir=rtl&motion=reduced&locale=ar`. */
function useSwitches() {
  const query = new URLSearchParams(location.search)
  const [switches, setSwitches] = useState({
    theme: query.get('theme') ?? 'system',
    dir: query.get('dir') ?? 'ltr',
    motion: query.get('motion') ?? 'system',
    locale: query.get('locale') ?? 'en',
  })
  useEffect(() => {
    document.documentElement.dir = switches.dir
    history.replaceState(null, '', `?${new URLSearchParams(switches)}`)
  }, [switches])
  return [switches, (change: Partial<typeof switches>) => setSwitches({ ...switches, ...change })] as const
}

export function Gallery() {
  const [{ theme, dir, motion, locale }, change] = useSwitches()
  const themes = theme === 'both' ? ['light', 'dark'] : [theme]
  return (
    <>
      <header className="gallery-bar" data-laurel-theme={theme}>
        <h1>Components of @laurel/react</h1>
        <label>
          Theme
          <select value={theme} onChange={({ target }) => change({ theme: target.value })}>
            {THEMES.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        <label>
          Locale
          <select value={locale} onChange={({ target }) => change({ locale: target.value })}>
            {LOCALES.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        <label>
          <input
            type="checkbox"
            checked={dir === 'rtl'}
            onChange={({ target }) => change({ dir: target.checked ? 'rtl' : 'ltr' })}
          />
          Right to left
        </label>
        <label>
          <input
            type="checkbox"
            checked={motion === 'reduced'}
            onChange={({ target }) => change({ motion: target.checked ? 'reduced' : 'system' })}
          />
          Reduced motion
        </label>
      </header>
      <LaurelSettings locale={locale} reducedMotion={motion === 'reduced'}>
        <main className="gallery-themes">
          {themes.map((name) => (
            <div key={name} className="gallery-page" data-laurel-theme={name}>
              <Sections />
            </div>
          ))}
        </main>
      </LaurelSettings>
    </>
  )
}
