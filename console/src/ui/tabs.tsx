import { Tabs as BaseTabs } from '@base-ui/react/tabs'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'

export type Tab = { value: string; name: string; path: string; content: () => ReactNode }

/** Parts of a page, of which one is shown. Each has an address of its own. */
export function Tabs({ label, tabs, value }: { label: string; tabs: readonly Tab[]; value: string }) {
  return (
    <BaseTabs.Root value={value} className="flex flex-col gap-6">
      <div className="overflow-x-auto overflow-y-hidden border-b border-line">
        <BaseTabs.List aria-label={label} className="flex w-max gap-1">
          {tabs.map(({ value: one, name, path }) => (
            <BaseTabs.Tab
              key={one}
              value={one}
              nativeButton={false}
              render={<Link to={path} replace resetScroll={false} />}
              className="border-b-2 border-transparent px-3 py-2 font-medium text-quiet hover:text-text focus-visible:-outline-offset-2 data-active:border-accent data-active:text-text"
            >
              {name}
            </BaseTabs.Tab>
          ))}
        </BaseTabs.List>
      </div>
      {tabs.map(({ value: one, content }) => (
        <BaseTabs.Panel key={one} value={one} className="outline-offset-4">
          {one === value && content()}
        </BaseTabs.Panel>
      ))}
    </BaseTabs.Root>
  )
}
