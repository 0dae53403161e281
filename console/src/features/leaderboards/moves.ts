import type { AdminLeaderboard } from '@laurel/client'
import { some } from '../../resource/affected'
import { deletion, switching } from '../../resource/parts'
import type { Admin, Move } from '../../resource/resource'
import { say } from '../../ui/text'

/** The moves that a status allows (L7). */
export function movesOf({ id, key, name, status }: AdminLeaderboard): Move<AdminLeaderboard>[] {
  const to = (admin: Admin, status: AdminLeaderboard['status']) => admin.leaderboards.update([{ id, status }])
  const finish: Move<AdminLeaderboard> = {
    label: 'Finish',
    did: 'was finished',
    isDangerous: true,
    ask: {
      title: say`Finish ${name}?`,
      text: 'Its ranking becomes final at once. This cannot be undone.',
    },
    to: 'finished',
    act: (admin) => to(admin, 'finished'),
  }
  return [
    ...(status === 'finished' ? [] : [switching(status === 'inactive' ? status : 'active', to)]),
    ...(status === 'active' ? [finish] : []),
    deletion(name, 'Its rankings are deleted with it. This cannot be undone.', async (admin) => {
      const { series } = await admin.leaderboards.analytics(key)
      return some('Ranked users', series.at(-1)?.participants)
    }),
  ]
}
