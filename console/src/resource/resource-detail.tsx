import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import type { FieldValues } from 'react-hook-form'
import { isNotFound, messageOf } from '../api/errors'
import { useAdmin } from '../api/laurel'
import { Button, buttonClasses } from '../ui/button'
import { Confirm } from '../ui/dialog'
import { Card, Code, Empty, Facts, Notice, Page, Skeleton } from '../ui/page'
import { failed } from '../ui/toasts'
import type { Lookups } from './lookups'
import type { Move, Resource } from './resource'
import { Status } from './resource-list'
import { hideItem, itemKey, showExpected, showItem } from './shown'
import { useWrite } from './writes'

/** One item, by its key or id. */
export function useResourceItem<Item extends object, Values extends FieldValues, Draft>(
  { path, get }: Resource<Item, Values, Draft>,
  key: string,
) {
  const admin = useAdmin()
  return useQuery({ queryKey: itemKey(path, key), queryFn: async () => get(admin, key) })
}

type DetailProps<Item extends object, Values extends FieldValues, Draft> = {
  resource: Resource<Item, Values, Draft>
  itemKey: string
  lookups: Lookups
}

/** The page of one item. */
export function ResourceDetailPage<Item extends object, Values extends FieldValues, Draft>({
  resource,
  itemKey,
  lookups,
}: DetailProps<Item, Values, Draft>) {
  const navigate = useNavigate()
  const { data: item, error, refetch } = useResourceItem(resource, itemKey)
  const above = (
    <Link to={resource.path} activeOptions={{ exact: true }} className="rounded-sm hover:underline">
      {resource.name}
    </Link>
  )
  if (error !== null && item === undefined)
    return isNotFound(error) ? (
      <Page name="Not found" above={above}>
        <Empty title={`There is no ${resource.one} with this key`}>
          It may have been deleted, or its key was changed.
        </Empty>
      </Page>
    ) : (
      <Page name={itemKey} above={above}>
        <Notice tone="danger" action={<Button onClick={() => refetch()}>Try again</Button>}>
          {messageOf(error)}
        </Notice>
      </Page>
    )
  if (item === undefined || lookups.isLoading)
    return (
      <Page name={itemKey} above={above} isLoading>
        <Card>
          <Skeleton className="h-24 w-full" />
        </Card>
      </Page>
    )
  const status = resource.statusOf?.(item)
  const summary = resource.summary?.(item, lookups)
  const { Sections } = resource
  return (
    <Page
      name={resource.nameOf(item, lookups)}
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
            ['Key', <Code key="key">{resource.keyOf(item)}</Code>],
            ...resource.facts(item, lookups),
            ['Id', <Code key="id">{resource.idOf(item)}</Code>],
          ]}
        />
      </Card>
    </Page>
  )
}

/** The buttons of the actions that an item offers. */
export function Moves<Item extends object, Values extends FieldValues, Draft>({
  resource,
  item,
  onGone,
}: {
  resource: Resource<Item, Values, Draft>
  item: Item
  /** After the item was removed. */
  onGone: () => void
}) {
  const write = useWrite<Item>(resource.path)
  const [asked, setAsked] = useState<Move<Item> | null>(null)
  const act = ({ act, done, expected, isRemoval = false }: Move<Item>) =>
    write.mutateAsync({
      act,
      done,
      ...(expected !== undefined && { expect: (queries) => showExpected(queries, resource, expected) }),
      show: (queries, written) => {
        if (isRemoval) hideItem(queries, resource, item)
        else if (written !== undefined) showItem(queries, resource, written)
      },
      ...(isRemoval && { after: onGone, isRemoval }),
    })
  return (
    <>
      {resource.moves?.(item).map((move) => (
        <Button
          key={move.label}
          isBusy={write.isPending}
          onClick={() => {
            if (move.ask !== undefined) setAsked(move)
            else act(move).catch((error) => failed(`“${move.label}” was not done`, messageOf(error)))
          }}
        >
          {move.label}
        </Button>
      ))}
      {asked?.ask !== undefined && (
        <Confirm
          title={asked.ask.title}
          confirm={`Confirm: ${asked.label.toLowerCase()}`}
          isDangerous={asked.isDangerous ?? false}
          {...(asked.ask.typed !== undefined && { typed: asked.ask.typed })}
          onConfirm={() => act(asked)}
          onClose={() => setAsked(null)}
        >
          {asked.ask.text}
        </Confirm>
      )}
    </>
  )
}
