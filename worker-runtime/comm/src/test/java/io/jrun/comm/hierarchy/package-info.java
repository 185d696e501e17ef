/** Tests of what the data context of several nodes derives; how it runs is tested with whole worlds. */
@NullMarked
package io.jrun.comm.hierarchy;

import org.jspecify.annotations.NullMarked;
