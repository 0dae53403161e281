/** The HTML of an email, as the preview shows it. */

/** Elements that load, run or lead somewhere, or that have styles of their own. */
const LEFT_OUT = [
  'script, style, link, meta, base, title, noscript, template',
  'iframe, frame, frameset, object, embed, audio, video, source, track, portal',
  'svg, math',
].join(', ')

/** Attributes that load something, or that the policy of the console forbids. */
const ATTRIBUTES = ['data-left-out', 'background', 'srcset']

const TAG = /<[a-z](?:[^>"']|"[^"]*"|'[^']*')*>/gi
const STYLE_ELEMENT = /<style\b[\s\S]*?(?:<\/style\s*>|$)/gi
/** Attributes that the policy forbids. It applies while a text is parsed too, so they get another name. */
const INLINE = /([\s"'/])(?:style|on[a-z]+)(\s*=)/gi

/**
 * The HTML without the things that the policy of the console forbids, so that the browser notes no errors:
 * styles, scripts, and images of other servers, for which their texts are shown. This is for looks only. The
 * policy, and the frame without scripts, protect the page.
 */
export function withoutForbidden(html: string): string {
  const inert = html
    .replaceAll(STYLE_ELEMENT, '')
    .replaceAll(TAG, (tag) => tag.replaceAll(INLINE, '$1data-left-out$2'))
  const { body } = new DOMParser().parseFromString(inert, 'text/html')
  for (const element of body.querySelectorAll(LEFT_OUT)) element.remove()
  for (const image of body.querySelectorAll<HTMLElement>('img, input[type="image" i]')) {
    if (image.getAttribute('src')?.trim().toLowerCase().startsWith('data:') !== true)
      image.replaceWith(image.getAttribute('alt') ?? '')
  }
  for (const element of [body, ...body.querySelectorAll('*')])
    for (const name of ATTRIBUTES) element.removeAttribute(name)
  return `<!doctype html><html><body>${body.innerHTML}</body></html>`
}
