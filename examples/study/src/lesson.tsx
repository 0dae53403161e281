import { type Change, useSendEvent } from '@laurel/react'
import { type FormEvent, useEffect, useRef, useState } from 'react'
import { finishLesson } from './api.ts'
import { Finished } from './finished.tsx'
import type { Lesson, Question } from './lessons.ts'
import { Failure, PageTitle } from './parts.tsx'

export function LessonPage({ lesson }: { lesson: Lesson }) {
  const { id, title, questions } = lesson
  const [step, setStep] = useState(0)
  const [answers, setAnswers] = useState<readonly number[]>([])
  const [changes, setChanges] = useState<readonly Change[] | null>(null)
  const event = useSendEvent()
  const question = questions[step]
  const finish = async () => {
    try {
      const sent = await event.sendVia(() => finishLesson(id, answers))
      setChanges(sent.changes)
    } catch {
      // `event.error` has it, and the page offers to try again. The lesson counts once, even if it arrived.
    }
  }
  const goOn = () => {
    setStep(step + 1)
    if (step + 1 === questions.length) finish()
  }
  return (
    <div className="page lesson">
      <header className="bar">
        <a href="#/" className="quiet button">
          Leave
        </a>
        <progress value={answers.length} max={questions.length} aria-label="Progress in this lesson" />
      </header>
      <main>
        {question !== undefined && (
          <QuestionForm
            key={step}
            title={title}
            position={`Question ${step + 1} of ${questions.length}`}
            question={question}
            answer={answers[step]}
            onAnswer={(choice) => setAnswers([...answers, choice])}
            onContinue={goOn}
          />
        )}
        {event.error && <Failure error={event.error} retry={finish} />}
        {event.isSending && <p role="status">Your lesson is being saved…</p>}
        {changes && <Finished lesson={lesson} answers={answers} changes={changes} />}
      </main>
    </div>
  )
}

interface QuestionFormProps {
  title: string
  position: string
  question: Question
  /** The choice that was checked. Undefined until then. */
  answer: number | undefined
  onAnswer: (choice: number) => void
  onContinue: () => void
}

function QuestionForm({ title, position, question, answer, onAnswer, onContinue }: QuestionFormProps) {
  const { text, choices, right, because } = question
  const [chosen, setChosen] = useState<number | null>(null)
  const button = useRef<HTMLButtonElement>(null)
  const isChecked = answer !== undefined
  // The choices can no longer have the focus.
  useEffect(() => {
    if (isChecked) button.current?.focus()
  }, [isChecked])
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (isChecked) onContinue()
    else if (chosen !== null) onAnswer(chosen)
  }
  const stateOf = (choice: number) => {
    if (!isChecked) return undefined
    if (choice === right) return 'right'
    return choice === answer ? 'wrong' : undefined
  }
  return (
    <form className="question" onSubmit={submit}>
      <p className="position">
        {title} · {position}
      </p>
      <PageTitle title={title}>{text}</PageTitle>
      <fieldset disabled={isChecked}>
        <legend className="hidden">{text}</legend>
        {choices.map((choice, index) => (
          <label key={choice} data-state={stateOf(index)}>
            <input type="radio" name="choice" onChange={() => setChosen(index)} required />
            {choice}
          </label>
        ))}
      </fieldset>
      <div className="feedback" data-state={isChecked ? stateOf(answer) : undefined}>
        <p role="status">
          {isChecked && (
            <>
              <strong>{answer === right ? 'Right!' : `Not quite. It is: ${choices[right]}`}</strong> {because}
            </>
          )}
        </p>
        <button ref={button} type="submit" className="button">
          {isChecked ? 'Continue' : 'Check'}
        </button>
      </div>
    </form>
  )
}
