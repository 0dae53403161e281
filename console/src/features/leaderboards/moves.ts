import type { AdminLeaderboard } from '@laurel/client'
import type { Admin, Move } from '../../resource/resource'

/** The moves that a status allows (L7). */
export function movesOf(board: AdminLeaderboard): Move<AdminLeaderboard>[] {
  const { id, name, status } = board
  const to = (status: AdminLeaderboard['status']) => ({
    expected: { ...board, status },
    act: (admin: Admin) => admin.leaderboards.update([{ id, status }]),
  })
  return [
    ...(status === 'inactive'
      ? [{ label: 'Activate', done: 'The leaderboard is active', ...to('active') }]
      : []),
    ...(status === 'active' || status === 'scheduled'
      ? [{ label: 'Deactivate', done: 'The leaderboard is hidden', ...to('inactive') }]
      : []),
    ...(status === 'active'
      ? [
          {
            label: 'Finish',
            done: 'The leaderboard is finished',
            isDangerous: true,
            ask: {
              title: `Finish ${name}?`,
              text: 'Its ranking becomes final at once. This cannot be undone.',
            },
            ...to('finished'),
          },
        ]
      : []),
    {
      label: 'Delete',
      done: 'The leaderboard was deleted',
      isDangerous: true,
      isRemoval: true,
      ask: { title: `Delete ${name}?`, text: 'Its rankings are deleted with it. This cannot be undone.' },
      act: (admin) => admin.leaderboards.delete({ ids: [id] }),
    },
  ]
}
