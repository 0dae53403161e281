import { LaurelSettings } from '@laurel/react'
import type { ReactNode } from 'react'
import '@laurel/react/styles.css'
import { VIEWER_ZONE } from './format'
import { LOCALE } from './locale'
import './laurel.css'

/** Shows components of `@laurel/react` in the look of the console, in the viewer's language and zone. */
export const LaurelLook = ({ children }: { children: ReactNode }) => (
  <LaurelSettings locale={LOCALE} timeZone={VIEWER_ZONE}>
    <div className="laurel-look">{children}</div>
  </LaurelSettings>
)
