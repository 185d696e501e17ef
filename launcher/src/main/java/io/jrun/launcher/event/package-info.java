/**
 * What happens to a job, as values: {@link io.jrun.launcher.event.JobEvent}. {@code JobEventPublisher} hands each event
 * to all consumers: the console, the record on disk and the result of {@code --json}. docs/job-events.md describes each
 * event.
 */
@NullMarked
package io.jrun.launcher.event;

import org.jspecify.annotations.NullMarked;
