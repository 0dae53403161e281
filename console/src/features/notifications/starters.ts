import { brandedTemplate } from '../../ui/branded'

type Starter = { subject: string; body: string }

/** Emails to begin with, in the look of the brand (T4). */
export const STARTERS = {
  streak_reminder: {
    subject: 'Keep your streak of {{ streak.length }}, {{ user.name | default: "friend" }}',
    body: brandedTemplate(
      'Come back by {{ streak.expires | date: "%-d %B" }}, and your streak of {{ streak.length }} goes on.',
      'Keep it',
    ),
  },
  achievement_completed: {
    subject: 'Well done: {{ achievement.name }}',
    body: brandedTemplate(
      'You completed <b>{{ achievement.name }}</b>. {{ achievement.description }}',
      'See it',
    ),
  },
  recap: {
    subject: 'From {{ recap.periodStart | date: "%-d %B" }} on: what you did in {{ branding.appName }}',
    body: brandedTemplate(
      '{% for metric in recap.metrics %}{{ metric.name }}: {{ metric.change }}<br>{% endfor %}{% for points in recap.points %}{{ points.name }}: {{ points.change }}<br>{% endfor %}',
      'See more',
    ),
  },
  reactivation: {
    subject: '{{ branding.appName }} misses you, {{ user.name | default: "friend" }}',
    body: brandedTemplate(
      'You were here {{ reactivation.daysSinceLastActive }} days ago. Go on where you stopped.',
      'Go on',
    ),
  },
} satisfies Record<string, Starter>
