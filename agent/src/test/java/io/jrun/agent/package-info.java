/** Tests of the agent with real processes. */
@NullMarked
package io.jrun.agent;

import org.jspecify.annotations.NullMarked;
