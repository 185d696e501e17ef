/** A process that outlives the agent and ends the processes that the agent has left. Entry class: {@code Guard}. */
@NullMarked
package io.jrun.agent.guard;

import org.jspecify.annotations.NullMarked;
