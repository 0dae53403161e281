/** How emails look with the brand of a tenant (T4): the font, the top, the button. */

/** The fonts of a brand as lists of fonts for CSS, as templates get them. */
const FAMILIES = {
  MODERN_SANS: 'system-ui, -apple-system, Segoe UI, Roboto, Helvetica, Arial, sans-serif',
  BOOK_SANS: 'Optima, Candara, Noto Sans, Verdana, sans-serif',
  ORGANIC_SANS: 'Seravek, Gill Sans, Ubuntu, Calibri, DejaVu Sans, sans-serif',
  GEOMETRIC_SANS: 'Avenir, Montserrat, Corbel, URW Gothic, Century Gothic, sans-serif',
  HEAVY_SANS: 'Bahnschrift, DIN Alternate, Franklin Gothic Medium, Impact, sans-serif',
  ROUNDED_SANS: 'ui-rounded, Hiragino Maru Gothic ProN, Quicksand, Arial Rounded MT Bold, sans-serif',
  MODERN_SERIF: 'Charter, Sitka Text, Cambria, Georgia, serif',
  BOOK_SERIF: 'Iowan Old Style, Palatino Linotype, Palatino, Book Antiqua, serif',
  MONOSPACE: 'ui-monospace, SF Mono, Menlo, Consolas, Liberation Mono, monospace',
}

/** Their names. */
export const FONTS: Readonly<Record<keyof typeof FAMILIES, string>> = {
  MODERN_SANS: 'Modern sans-serif',
  BOOK_SANS: 'Book sans-serif',
  ORGANIC_SANS: 'Organic sans-serif',
  GEOMETRIC_SANS: 'Geometric sans-serif',
  HEAVY_SANS: 'Heavy sans-serif',
  ROUNDED_SANS: 'Rounded sans-serif',
  MODERN_SERIF: 'Modern serif',
  BOOK_SERIF: 'Book serif',
  MONOSPACE: 'Monospace',
}

type Picture = { url: string } | null

/** The brand of a tenant, as in its settings. */
export type Branding = {
  appName: string
  appUrl: string
  brandColor: string
  font: keyof typeof FAMILIES
  logo: Picture
  appIcon: Picture
}

/** The variables of a brand in templates. */
type Variable = 'appName' | 'appUrl' | 'brandColor' | 'fontFamily' | 'logoUrl'

/** How an email names its brand. */
type Writing = {
  /** A value, ready for HTML. */
  value: (name: Variable) => string
  /** One of two texts: the first one if the brand has the value. */
  either: (name: Variable, has: string, otherwise: string) => string
}

const LIQUID: Writing = {
  value: (name) => `{{ branding.${name} }}`,
  either: (name, has, otherwise) => `{% if branding.${name} %}${has}{% else %}${otherwise}{% endif %}`,
}

const escaped = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')

function present({ appName, appUrl, brandColor, font, logo }: Branding): Writing {
  const values = { appName, appUrl, brandColor, fontFamily: FAMILIES[font], logoUrl: logo?.url ?? '' }
  return {
    value: (name) => escaped(values[name]),
    either: (name, has, otherwise) => (values[name] === '' ? otherwise : has),
  }
}

/** The texts of an email. */
type Words = {
  /** HTML. */
  words: string
  /** On the button. */
  action: string
  unsubscribeUrl: string
}

function layout({ value, either }: Writing, { words, action, unsubscribeUrl }: Words): string {
  const name = value('appName')
  const logo = either(
    'logoUrl',
    `<img src="${value('logoUrl')}" alt="${name}" height="40" style="height:40px;border:0">`,
    `<b style="font-size:20px">${name}</b>`,
  )
  const link = (style: string, inside: string) =>
    `<a href="${value('appUrl')}" style="${style}">${inside}</a>`
  const button = link(
    `display:inline-block;padding:12px 20px;border-radius:8px;background:${value('brandColor')};color:#ffffff;font-weight:600;text-decoration:none`,
    action,
  )
  return [
    `<div style="max-width:480px;margin:0 auto;padding:24px;font-family:${value('fontFamily')};font-size:16px;line-height:1.5;color:#1f2937">`,
    `<p>${either('appUrl', link('color:inherit;text-decoration:none', logo), logo)}</p>`,
    `<p>${words}</p>`,
    either('appUrl', `<p>${button}</p>`, ''),
    `<p style="font-size:12px"><a href="${unsubscribeUrl}" style="color:#6b7280">Unsubscribe</a></p>`,
    '</div>',
  ].join('\n')
}

/** The body of an email template with the brand. `words` may have variables. */
export const brandedTemplate = (words: string, action: string) =>
  layout(LIQUID, { words, action, unsubscribeUrl: '{{ unsubscribeUrl }}' })

/** An email with a brand as it is at present, for a preview. `words` are HTML. */
export const brandedEmail = (branding: Branding, words: string, action: string) =>
  layout(present(branding), { words, action, unsubscribeUrl: '#' })
