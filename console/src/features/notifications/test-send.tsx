import type { AdminNotificationTemplate } from '@laurel/client'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { messageOf } from '../../api/errors'
import { useAdmin } from '../../api/laurel'
import { Button } from '../../ui/button'
import { Confirm } from '../../ui/dialog'
import { Notice } from '../../ui/page'

/** Sends the message to the user now, after a question, and shows the outcome. */
export function TestSend({ template, userId }: { template: AdminNotificationTemplate; userId: string }) {
  const admin = useAdmin()
  const [isAsking, setAsking] = useState(false)
  const test = useMutation({
    mutationFn: async () => admin.notifications.templates.test(template.id, { userId }),
  })
  const { data, error } = test
  return (
    <div className="flex flex-col items-start gap-3">
      <Button isBusy={test.isPending} onClick={() => setAsking(true)}>
        Send a test
      </Button>
      <div className="w-full">
        {error !== null && <Notice tone="danger">{messageOf(error)}</Notice>}
        {data?.status === 'sent' && (
          <Notice>
            The provider took the message to {userId}.
            {data.reason !== null && ` Some devices were not reached: ${data.reason}.`}
          </Notice>
        )}
        {data?.status === 'failed' && (
          <Notice tone="danger">The message was not sent. The provider said: {data.reason}.</Notice>
        )}
        {data?.status === 'unsent: no provider' && (
          <Notice tone="warning">The message was not sent. {data.reason}</Notice>
        )}
      </div>
      {isAsking && (
        <Confirm
          title={`Send this message to ${userId}?`}
          confirm="Confirm: send the test"
          onClose={() => setAsking(false)}
          onConfirm={async () => {
            // The result, or the error, is shown below the button.
            await test.mutateAsync().catch(() => undefined)
          }}
        >
          The user really gets it, now and once. Choose yourself, or a user for tests.
        </Confirm>
      )}
    </div>
  )
}
