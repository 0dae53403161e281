import { Menu as BaseMenu } from '@base-ui/react/menu'
import { useRef } from 'react'
import { buttonClasses } from './button'
import { classes } from './classes'
import { Icon, type IconName } from './icon'

export type MenuItem = { label: string; icon: IconName; act: () => void; isDangerous?: boolean }

/** A button that opens a list of things to do. The groups have a line between them. */
export function Menu({ label, groups }: { label: string; groups: readonly (readonly MenuItem[])[] }) {
  // The list opens inside the page, not beside it: all content belongs to a landmark.
  const place = useRef<HTMLDivElement>(null)
  return (
    <div ref={place}>
      <BaseMenu.Root>
        <BaseMenu.Trigger className={buttonClasses('plain')}>
          {label}
          <Icon name="chevron-down" size={15} />
        </BaseMenu.Trigger>
        <BaseMenu.Portal container={place}>
          <BaseMenu.Positioner
            positionMethod="fixed"
            align="end"
            sideOffset={6}
            className="z-30 outline-none"
          >
            <BaseMenu.Popup className="max-h-(--available-height) min-w-56 overflow-y-auto rounded-lg border border-line bg-raised p-1.5 shadow-raised outline-none transition-opacity duration-100 data-ending-style:opacity-0 data-starting-style:opacity-0">
              {groups.map((items, index) => (
                <BaseMenu.Group
                  key={items[0]?.label}
                  className={classes(index > 0 && 'mt-1.5 border-t border-line pt-1.5')}
                >
                  {items.map(({ label: name, icon, act, isDangerous }) => (
                    <BaseMenu.Item
                      key={name}
                      onClick={act}
                      className={classes(
                        'flex cursor-pointer items-center gap-2.5 rounded-md px-2.5 py-1.5 outline-none data-highlighted:bg-hover',
                        isDangerous && 'text-danger',
                      )}
                    >
                      <Icon name={icon} size={16} className={isDangerous ? '' : 'text-quiet'} />
                      {name}
                    </BaseMenu.Item>
                  ))}
                </BaseMenu.Group>
              ))}
            </BaseMenu.Popup>
          </BaseMenu.Positioner>
        </BaseMenu.Portal>
      </BaseMenu.Root>
    </div>
  )
}
