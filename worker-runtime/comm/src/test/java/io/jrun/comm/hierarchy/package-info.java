/** Tests of what the data plane of several nodes derives; how it runs is tested with whole worlds. */
@NullMarked
package io.jrun.comm.hierarchy;

import org.jspecify.annotations.NullMarked;
