import type { AdminNotificationTemplate } from '@laurel/client'
import { WriteRefused } from '../../api/errors'
import { AskButton } from '../../resource/ask-button'
import { say } from '../../ui/text'

/** Sends the message to the user now, after a question that shows why it was not sent. */
export const TestSend = ({ template, userId }: { template: AdminNotificationTemplate; userId: string }) => (
  <AskButton
    label="Send a test"
    button={{ className: 'self-start' }}
    path="/notifications"
    title={say`Send this message to ${userId}?`}
    confirm="Confirm: send the test"
    write={{
      what: say`The test to ${userId}`,
      did: 'was sent',
      act: async (admin) => {
        const sent = await admin.notifications.templates.test(template.id, { userId })
        if (sent.status === 'sent') return sent
        const by = sent.status === 'failed' ? 'The provider said: ' : ''
        throw new WriteRefused([{ path: null, message: `The message was not sent. ${by}${sent.reason}` }])
      },
      more: ({ reason }) => (reason === null ? undefined : `Some devices were not reached: ${reason}.`),
    }}
  >
    The user really gets it, now and once. Choose yourself, or a user for tests.
  </AskButton>
)
