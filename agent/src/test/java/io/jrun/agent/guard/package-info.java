/** Tests of this package. */
@NullMarked
package io.jrun.agent.guard;

import org.jspecify.annotations.NullMarked;
