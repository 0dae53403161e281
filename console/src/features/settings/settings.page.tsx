import type { Settings } from '@laurel/client'
import { useQuery } from '@tanstack/react-query'
import { useDeferredValue } from 'react'
import { z } from 'zod'
import { settingsRead, type Tagged, useAdmin } from '../../api/laurel'
import { Loaded } from '../../api/paging'
import { useTenantsResource } from '../../app/tenants'
import { InWords, PageForm } from '../../resource/form-sheet'
import type { Field } from '../../resource/resource'
import { ResourceSection } from '../../resource/resource-section'
import { address, choice, picture, REFUSED, refusesEntry, text, whole } from '../../resource/schemas'
import { valuesOf } from '../../resource/values'
import { useSignedIn } from '../../session/session-context'
import { type Branding, brandedEmail, FONTS } from '../../ui/branded'
import { numberOf } from '../../ui/locale'
import { EmailMessage, PushMessage } from '../../ui/message'
import { Card, Code, Facts, Page } from '../../ui/page'
import { nameOr, say } from '../../ui/text'

/** All tenants of the account: who has an admin key may create, archive and erase them. */
const Tenants = () => <ResourceSection resource={useTenantsResource()} within="/settings" name="tenants" />

export default function SettingsPage() {
  const admin = useAdmin()
  const { tenant, testClock } = useSignedIn()
  const settings = useQuery(settingsRead(admin))
  return (
    <Page
      name="Settings"
      intro={tenant === null ? 'For all users.' : say`For all users of ${nameOr(tenant.name, tenant.id)}.`}
      isLoading={settings.isPending}
    >
      <Loaded query={settings} className="h-96">
        {(data) => <SettingsForm settings={data} />}
      </Loaded>
      {tenant !== null && <Tenants />}
      <Card title="This deployment">
        <Facts
          facts={[
            tenant === null ? null : ['Tenant', nameOr(tenant.name, tenant.id)],
            tenant === null ? null : ['Tenant id', <Code key="tenant">{tenant.id}</Code>],
            ['Test clock', testClock ? 'on: time can be moved' : 'off'],
          ]}
        />
      </Card>
    </Page>
  )
}

const Draft = z.object({
  branding: z.object({
    appName: text(100),
    appUrl: address(),
    brandColor: text(50),
    font: z.custom<Branding['font']>((given) => typeof given === 'string' && Object.hasOwn(FONTS, given)),
    logo: picture(),
    appIcon: picture(),
  }),
  experimentation: z.object({
    controlRatio: whole({ min: 0, max: 100 }),
    userActivationWindow: whole({ min: 3, max: 30 }),
  }),
  aggregationPeriod: choice(['weekly', 'monthly']),
})

type Values = z.input<typeof Draft>

const BRAND: readonly Field<Values>[] = [
  { kind: 'text', name: 'branding.appName', label: 'Name of the app' },
  {
    kind: 'text',
    name: 'branding.appUrl',
    label: 'Address of the app',
    isOptional: true,
    placeholder: 'https://example.com',
    hint: 'Links and buttons in emails lead there.',
  },
  {
    kind: 'text',
    name: 'branding.brandColor',
    label: 'Colour',
    hint: 'For buttons, with white text: #2563EB, or rgb(37, 99, 235).',
  },
  { kind: 'choice', name: 'branding.font', label: 'Font', options: FONTS },
  {
    kind: 'text',
    name: 'branding.logo',
    label: 'Address of the logo',
    isOptional: true,
    hint: 'Stands at the top of emails. Without it, the name does.',
  },
  {
    kind: 'text',
    name: 'branding.appIcon',
    label: 'Address of the icon',
    isOptional: true,
    hint: 'A small square picture.',
  },
]

const MESSAGES: readonly Field<Values>[] = [
  {
    kind: 'number',
    name: 'experimentation.controlRatio',
    label: 'Control group',
    unit: '% of new users',
    hint: 'These users get no messages. So you can see whether messages keep users. It does not move users who exist.',
  },
  {
    kind: 'number',
    name: 'experimentation.userActivationWindow',
    label: 'Activation window',
    unit: 'days',
    hint: 'The overview counts the users who come back that many days after their first day.',
  },
  {
    kind: 'choice',
    name: 'aggregationPeriod',
    label: 'Recap',
    options: { weekly: 'Every week, on Monday', monthly: 'Every month, on the 1st' },
    hint: 'Recaps come only if a template for them is active, or a webhook wants them.',
  },
]
const FIELDS = [...BRAND, ...MESSAGES]

const inWords = (values: Values) => {
  if (refusesEntry(Draft, values)) return REFUSED
  const { experimentation, aggregationPeriod } = values
  const share = numberOf(experimentation.controlRatio)
  const group = share > 0 ? `${share} of 100 new users get no messages.` : 'All new users may get messages.'
  const day = aggregationPeriod === 'weekly' ? 'each Monday' : 'on the 1st of each month'
  return `${group} Recaps come ${day} at 09:00.`
}

/** An email and a push message with the brand as it is typed. Addresses that are not complete are left out. */
function BrandPreview({ values }: { values: Values['branding'] }) {
  const { logo, appIcon, appUrl, ...rest } = useDeferredValue(values)
  const brand: Branding = {
    ...rest,
    appUrl: address().safeParse(appUrl).data ?? '',
    logo: picture().safeParse(logo).data ?? null,
    appIcon: picture().safeParse(appIcon).data ?? null,
  }
  return (
    <section
      aria-label="Preview"
      className="flex flex-col gap-4 self-start rounded-md border border-line bg-sunken p-4"
    >
      <EmailMessage
        title="Keep your streak of 12, Ada"
        body={brandedEmail(brand, 'Come back today, and your streak of 12 goes on.', 'Keep it')}
        brand={brand}
      />
      <PushMessage title="Keep your streak, Ada" body="Come back today, and it is 13." brand={brand} />
      <p className="text-sm text-quiet">
        Emails look so if their templates begin with the example in their form. Push messages show the icon of
        your app.
      </p>
    </section>
  )
}

/** The settings of a tenant, as one form. */
function SettingsForm({ settings }: { settings: Tagged<Settings> }) {
  return (
    <PageForm
      name="/settings"
      title="Settings"
      path="/settings"
      fields={FIELDS}
      schema={Draft}
      values={valuesOf(FIELDS, settings)}
      stored={{
        item: settings,
        queryKey: ['/settings'],
        valuesOf: (item) => valuesOf(FIELDS, item),
        kind: 'settings',
      }}
      submit="Save changes"
      write={(draft) => ({
        what: 'The settings',
        did: 'were saved',
        act: (admin) => admin.settings.update(draft),
        show: (queries, { issues: _issues, ...saved }) => queries.setQueryData(['/settings'], saved),
      })}
    >
      {(show, values) => (
        <>
          <Card title="Brand" about="How emails and push messages look. Templates have these as variables.">
            <div className="grid gap-6 lg:grid-cols-2">
              <div className="flex flex-col gap-5">{show(BRAND)}</div>
              <BrandPreview values={values.branding} />
            </div>
          </Card>
          <Card title="Messages" about="Emails and push messages to users. A change takes effect at once.">
            <div className="flex max-w-xl flex-col gap-5">
              {show(MESSAGES)}
              <InWords>{inWords(values)}</InWords>
            </div>
          </Card>
        </>
      )}
    </PageForm>
  )
}
