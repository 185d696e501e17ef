package io.jrun.agent.nvml;

import java.io.IOException;

/** NVML is missing, or refuses all calls, or does not answer. The message completes "NVML: ...", without a full stop. */
public final class NvmlException extends IOException {
    private static final long serialVersionUID = 1L;

    NvmlException(String message) {
        super(message);
    }
}
