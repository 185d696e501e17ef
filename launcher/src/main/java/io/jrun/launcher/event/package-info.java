/**
 * The events of a job: {@link io.jrun.launcher.event.JobEvent}. {@code JobEventPublisher} passes each event to all
 * consumers: the console, the record on disk and the result of {@code --json}. docs/job-events.md describes each
 * event.
 */
@NullMarked
package io.jrun.launcher.event;

import org.jspecify.annotations.NullMarked;
