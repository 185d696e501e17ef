/** Tests of this package. */
@NullMarked
package io.jrun.agent.control;

import org.jspecify.annotations.NullMarked;
