/**
 * The work of an agent for one job: rounds of workers, between the coordinator's stream and the workers' sockets. Entry
 * class: {@code JobService}.
 */
@NullMarked
package io.jrun.agent.job;

import org.jspecify.annotations.NullMarked;
