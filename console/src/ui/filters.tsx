/** Fields in a row, such as those that filter a list. */
import type { ComponentProps } from 'react'
import { Labelled, TypedInput } from './labelled'
import { Select } from './select'

/** A choice with its label above. */
export const ChoiceFilter = ({
  label,
  onChoose,
  ...select
}: ComponentProps<typeof Select> & { label: string; onChoose: (value: string) => void }) => (
  <div className="min-w-0 flex-1 basis-48">
    <Labelled label={label}>
      <Select {...select} onChange={({ target }) => onChoose(target.value)} />
    </Labelled>
  </div>
)

/** A text with its label above. */
export const TextFilter = ({ label, ...input }: ComponentProps<typeof TypedInput> & { label: string }) => (
  <div className="min-w-0 flex-1 basis-40">
    <Labelled label={label}>
      <TypedInput {...input} />
    </Labelled>
  </div>
)
