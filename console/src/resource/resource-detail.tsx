import { Link, useNavigate } from '@tanstack/react-router'
import { ChangedMeanwhile } from '../api/errors'
import type { Tagged } from '../api/laurel'
import { AbsentPage } from '../api/paging'
import { Button, buttonClasses } from '../ui/button'
import { Card, Code, Facts, Page, Shown } from '../ui/page'
import { say } from '../ui/text'
import { AffectedList } from './affected'
import { AskButton } from './confirm-write'
import { type Lookups, useLookups } from './lookups'
import { changedFields, changesInWords, readAgain } from './meanwhile'
import { fieldInWords } from './parts'
import { type Move, type Resource, type Thing, titleOf, type Written } from './resource'
import { Status } from './resource-list'
import { hideItem, showWritten, useResourceItem } from './shown'
import { valuesIn } from './values'
import { isListed, itemOf, named, removing, useWrite, type Write } from './writes'

/** The page of one item. */
export function ResourceDetailPage({ resource, itemKey }: { resource: Resource; itemKey: string }) {
  const lookups = useLookups(resource.needs)
  const navigate = useNavigate()
  const query = useResourceItem(resource, itemKey)
  const { data: item } = query
  const above = (
    <Link to={resource.path} activeOptions={{ exact: true }} className="rounded-sm hover:underline">
      {resource.name}
    </Link>
  )
  if (item === undefined || lookups.isLoading)
    return (
      <AbsentPage
        name={itemKey}
        above={above}
        query={query}
        none={{
          title: `There is no ${resource.one} with this key`,
          text: 'It may have been deleted, or its key was changed.',
        }}
      />
    )
  const status = resource.statusOf?.(item)
  const summary = resource.summary?.(item, lookups)
  const { Sections } = resource
  return (
    <Page
      name={titleOf(resource, item, lookups)}
      above={above}
      beside={status && <Status status={status} />}
      intro={summary}
      actions={
        <>
          <Moves resource={resource} item={item} onGone={() => navigate({ to: resource.path })} />
          <Link
            to={`${resource.path}/${encodeURIComponent(itemKey)}/edit`}
            className={buttonClasses('primary')}
          >
            Edit
          </Link>
        </>
      }
    >
      {Sections !== undefined && <Sections item={item} />}
      <Card title="Details">
        <Facts
          facts={[
            ['Key', <Code key="key">{item.key}</Code>],
            ...factsOf(resource, item, lookups),
            ['Id', <Code key="id">{item.id}</Code>],
          ]}
        />
      </Card>
    </Page>
  )
}

/** The fields that the page of an item shows in other places. */
const ELSEWHERE: readonly string[] = ['name', 'key', 'status']

/** What is known of an item: the fields of its form in words, and what is no field. */
export function factsOf({ form, facts }: Resource, item: Thing, lookups: Lookups) {
  const values = valuesIn(form, item)
  const shown = form.fields
    .filter(({ name, when }) => !ELSEWHERE.includes(name) && (when === undefined || when(values)))
    .map((field) => [field.label, fieldInWords(field, values, lookups)] as const)
    .filter(([, words]) => words !== '')
    .map(([label, words]) => [label, <Shown key={label}>{words}</Shown>] as const)
  return [...shown, ...(facts?.(item, lookups) ?? [])]
}

/** The move that deletes an item, after a question. */
const deletionOf = ({ deletion, operations }: Resource, item: Thing): Move<Thing, object> => ({
  label: 'Delete',
  did: 'was deleted',
  act: removing<Written<Thing>>(
    (admin) => operations(admin).delete({ ids: [item.id] }),
    (admin) => isListed(operations(admin).list(), item.id),
  ),
  text: deletion?.text,
  affected: deletion?.affected?.(item),
  isDangerous: true,
  isRemoval: true,
})

/** The buttons of the actions that an item offers. */
export function Moves({
  resource,
  item,
  onGone,
}: {
  resource: Resource
  item: Tagged<Thing>
  /** After the item was removed. */
  onGone: () => void
}) {
  const { path, page: look, form } = resource
  const lookups = useLookups(resource.needs)
  const scope = `${path}/${item.id}`
  const { begin, isBusy } = useWrite<Written<Thing>>({ path, look, scope })
  const name = titleOf(resource, item, lookups)
  const writeOf = ({ change, act, did, isRemoval = false }: Move<Thing, object>): Write<Written<Thing>> => ({
    what: named(resource.one, name),
    did,
    act: act ?? ((admin) => resource.operations(admin).update(change ? [{ ...change, id: item.id }] : [])),
    isRemoval,
    etag: item.etag,
    review: async (admin, queries) => {
      const seen = valuesIn(form, item)
      const valuesOf = (one: Thing) => valuesIn(form, one)
      const now = await readAgain<Thing>(queries, { item, queryKey: [path, 'item'], valuesOf })
      const wanted = { ...seen, ...change }
      const changed = changedFields(form.fields, seen, wanted, valuesIn(form, now.item))
      if (changed.length === 0) return now.item.etag
      throw new ChangedMeanwhile(await changesInWords(changed, seen, now, lookups, admin), now.item.etag)
    },
    show: (queries, answer) =>
      isRemoval ? hideItem(queries, path, item) : showWritten(queries, resource, itemOf(answer)),
  })
  const moves = [
    ...(resource.moves?.(item) ?? []),
    ...(resource.deletion ? [deletionOf(resource, item)] : []),
  ]
  return moves.map((move) => {
    const { label, text, typed, affected, isDangerous = false, isRemoval = false } = move
    if (text === undefined)
      return (
        <Button key={label} isBusy={isBusy} onClick={() => begin(writeOf(move))}>
          {label}
        </Button>
      )
    return (
      <AskButton
        key={label}
        {...{ path, look, scope, label, isDangerous, typed }}
        button={{ isBusy }}
        title={say`${label} ${name}?`}
        confirm={`Confirm: ${label.toLowerCase()}`}
        write={writeOf(move)}
        onDone={isRemoval ? onGone : undefined}
      >
        {text}
        {affected && <AffectedList name={[path, 'affected', item.id]} read={affected} />}
      </AskButton>
    )
  })
}
