/** Tests of this package. */
@NullMarked
package io.jrun.agent.log;

import org.jspecify.annotations.NullMarked;
