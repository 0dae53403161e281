import type { Branding } from './branded'
import { dressed, withoutForbidden } from './email-html'

type MessageProps = {
  /** The subject of an email. */
  title: string | undefined
  body: string
  brand: Pick<Branding, 'appName' | 'appIcon' | 'logo'> | undefined
}

/** A push message as a phone shows it: with the icon and the name of the app, if they are known. */
export function PushMessage({ title, body, brand }: MessageProps) {
  return (
    <div className="rounded-lg border border-line bg-raised px-4 py-3 shadow-raised">
      {brand !== undefined && (
        <p className="mb-1 flex items-center gap-2 text-sm text-quiet">
          {brand.appIcon !== null && (
            <img src={brand.appIcon.url} alt="" width={20} height={20} className="size-5 rounded-sm" />
          )}
          <span className="min-w-0 truncate">{brand.appName}</span>
        </p>
      )}
      <p className="font-semibold">{title}</p>
      <p className="whitespace-pre-wrap">{body}</p>
    </div>
  )
}

/** An email. Its HTML is in a frame without scripts, forms, and other pictures than those of the brand. */
export function EmailMessage({ title, body, brand }: MessageProps) {
  const pictures = [brand?.logo?.url, brand?.appIcon?.url].filter((url) => url !== undefined)
  return (
    <div className="overflow-hidden rounded-lg border border-line bg-raised">
      <p className="border-b border-line px-4 py-2.5 font-semibold">{title}</p>
      <iframe
        title="The email"
        sandbox="allow-same-origin"
        srcDoc={withoutForbidden(body, pictures)}
        onLoad={({ currentTarget }) => dressed(currentTarget.contentDocument)}
        className="block h-72 w-full bg-paper scheme-light"
      />
    </div>
  )
}
