import type { AdminLeaderboard } from '@laurel/client'
import { deletion } from '../../resource/parts'
import type { Admin, Move } from '../../resource/resource'
import { say } from '../../ui/text'

/** The moves that a status allows (L7). */
export function movesOf(board: AdminLeaderboard): Move<AdminLeaderboard>[] {
  const { id, name, status } = board
  const to = (status: AdminLeaderboard['status']) => ({
    act: (admin: Admin) => admin.leaderboards.update([{ id, status }]),
  })
  return [
    ...(status === 'inactive' ? [{ label: 'Activate', did: 'was activated', ...to('active') }] : []),
    ...(status === 'active' || status === 'scheduled'
      ? [{ label: 'Deactivate', did: 'was deactivated', ...to('inactive') }]
      : []),
    ...(status === 'active'
      ? [
          {
            label: 'Finish',
            did: 'was finished',
            isDangerous: true,
            ask: {
              title: say`Finish ${name}?`,
              text: 'Its ranking becomes final at once. This cannot be undone.',
            },
            ...to('finished'),
          },
        ]
      : []),
    deletion(name, 'Its rankings are deleted with it. This cannot be undone.'),
  ]
}
