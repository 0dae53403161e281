/** The HTML of an email, as the preview shows it. */

/** Elements that load, run or lead somewhere, or that have style sheets. */
const LEFT_OUT = [
  'script, style, link, meta, base, title, noscript, template',
  'iframe, frame, frameset, object, embed, audio, video, source, track, portal',
  'svg, math',
].join(', ')

/** Attributes that load something, or that the policy of the console forbids. */
const ATTRIBUTES = ['data-left-out', 'background', 'srcset']

const TAG = /<[a-z](?:[^>"']|"[^"]*"|'[^']*')*>/gi
const STYLE_ELEMENT = /<style\b[\s\S]*?(?:<\/style\s*>|$)/gi
/** Attributes that the policy forbids. It applies while a text is parsed too, so they get other names. */
const STYLE = /([\s"'/])style(\s*=)/gi
const HANDLER = /([\s"'/])on[a-z]+(\s*=)/gi
/** Values of styles that may load something. */
const LOADS = /url|image|src|var|attr|env/i

/**
 * The HTML without the things that the policy of the console forbids, so that the browser notes no errors:
 * style sheets, scripts, and images but those of `pictures`, for which their texts are shown. `dressed` puts
 * styles back. This is for looks only. The policy, and the frame without scripts, protect the page.
 */
export function withoutForbidden(html: string, pictures: readonly string[]): string {
  const inert = html
    .replaceAll(STYLE_ELEMENT, '')
    .replaceAll(TAG, (tag) =>
      tag.replaceAll(STYLE, '$1data-style$2').replaceAll(HANDLER, '$1data-left-out$2'),
    )
  const { body } = new DOMParser().parseFromString(inert, 'text/html')
  for (const element of body.querySelectorAll(LEFT_OUT)) element.remove()
  for (const image of body.querySelectorAll<HTMLElement>('img, input[type="image" i]')) {
    const source = image.getAttribute('src')?.trim() ?? ''
    if (!source.toLowerCase().startsWith('data:') && !pictures.includes(source))
      image.replaceWith(image.getAttribute('alt') ?? '')
  }
  for (const element of [body, ...body.querySelectorAll('*')])
    for (const name of ATTRIBUTES) element.removeAttribute(name)
  return `<!doctype html><html><body>${body.innerHTML}</body></html>`
}

/** Gives the elements of a shown email their styles, except those that may load something. */
export function dressed(email: Document | null): void {
  for (const element of email?.querySelectorAll<HTMLElement>('[data-style]') ?? []) {
    const { style } = element
    style.cssText = element.getAttribute('data-style') ?? ''
    for (const name of [...style])
      if (name.startsWith('--') || LOADS.test(style.getPropertyValue(name))) style.removeProperty(name)
    element.removeAttribute('data-style')
  }
}
