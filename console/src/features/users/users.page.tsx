import { useParams } from '@tanstack/react-router'
import { NewUserForm } from './user-form'
import { UserListPage } from './user-list'
import { UserPage } from './user-page'

/** `/users` is the list, `/users/new` the same with the form of a new user, `/users/$id` the page of one. */
export default function UsersPage() {
  const { id, part } = useParams({ strict: false })
  const isNew = id === 'new' && part === undefined
  if (id !== undefined && !isNew) return <UserPage key={id} id={id} part={part} />
  return (
    <>
      <UserListPage />
      {isNew && <NewUserForm />}
    </>
  )
}
