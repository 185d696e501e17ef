package io.jrun.launcher.kubernetes;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import com.fasterxml.jackson.dataformat.yaml.YAMLGenerator;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * A job of Kubernetes with one pod for each node: an Indexed Job, the headless Service that names its pods, and the
 * Secret that the jruns of the pods share. The jruns meet at the pod with index 0. A JobSet of one Indexed Job makes
 * the Service itself. Source: https://jobset.sigs.k8s.io/docs/reference/jobset.v1alpha2.
 *
 * @param controller the controller that gets the job
 * @param name of the Job or the JobSet, the Service and the Secret: a DNS label
 * @param image the image of the pods, with jrun and the program
 * @param pods the number of nodes
 * @param gpus the GPUs of each pod, 0 for none
 * @param memory the memory of each pod as Kubernetes writes it; empty for no limit
 * @param deadlineSeconds the limit of the whole job
 * @param graceSeconds the time between SIGTERM and SIGKILL for a pod
 * @param secret the content of the Secret
 * @param command the jrun command line
 */
public record IndexedJob(
        Controller controller,
        String name,
        String image,
        int pods,
        int gpus,
        Optional<String> memory,
        OptionalLong deadlineSeconds,
        long graceSeconds,
        String secret,
        List<String> command) {
    /** What makes the pods. */
    public enum Controller {
        /** The Job of Kubernetes. */
        JOB,
        /** The JobSet of sigs.k8s.io, which queues such as Kueue admit as a whole. */
        JOB_SET
    }

    private static final int PORT = 29400;

    /** The name of the Indexed Job in its JobSet. */
    private static final String NODES = "node";

    private static final String SECRET_FOLDER = "/etc/jrun";
    private static final int OWNER_READS = 0400;

    /** How often the whole job may start again. Kubernetes counts the failed starts of pods. */
    private static final int STARTS_AGAIN = 3;

    /** Exit codes after which Kubernetes must not start the job again: a wrong command line, and a worker's 65. */
    private static final List<Integer> FINAL_CODES = List.of(2, 65);

    public IndexedJob {
        command = List.copyOf(command);
    }

    /** The objects in YAML, for {@code kubectl apply -f -}. */
    public String manifest() {
        YAMLMapper yaml = new YAMLMapper(YAMLFactory.builder()
                .enable(YAMLGenerator.Feature.MINIMIZE_QUOTES)
                .enable(YAMLGenerator.Feature.ALWAYS_QUOTE_NUMBERS_AS_STRINGS)
                .enable(YAMLGenerator.Feature.LITERAL_BLOCK_STYLE)
                .build());
        StringBuilder text = new StringBuilder();
        try {
            for (Map<String, Object> object : objects()) {
                text.append(yaml.writeValueAsString(object));
            }
        } catch (JsonProcessingException e) {
            throw new IllegalStateException(e); // maps, lists, texts and numbers can always be written
        }
        return text.toString();
    }

    private List<Map<String, Object>> objects() {
        return switch (controller) {
            case JOB -> List.of(sharedSecret(), service(), job());
            case JOB_SET -> List.of(sharedSecret(), jobSet());
        };
    }

    private Map<String, Object> jobSet() {
        Map<String, Object> object = object("jobset.x-k8s.io/v1alpha2", "JobSet");
        Map<String, Object> spec = new LinkedHashMap<>();
        spec.put("network", ordered("enableDNSHostnames", true, "subdomain", name, "publishNotReadyAddresses", true));
        spec.put(
                "replicatedJobs",
                List.of(ordered("name", NODES, "replicas", 1, "template", Map.of("spec", jobSpec()))));
        object.put("spec", spec);
        return object;
    }

    /** The name of the pod with index 0. */
    private String firstPod() {
        return switch (controller) {
            case JOB -> name + "-0." + name;
            case JOB_SET -> name + "-" + NODES + "-0-0." + name;
        };
    }

    private Map<String, Object> sharedSecret() {
        Map<String, Object> object = object("v1", "Secret");
        object.put("stringData", Map.of("secret", secret));
        return object;
    }

    private Map<String, Object> service() {
        Map<String, Object> object = object("v1", "Service");
        Map<String, Object> spec = new LinkedHashMap<>();
        spec.put("clusterIP", "None");
        spec.put("publishNotReadyAddresses", true);
        spec.put("selector", Map.of("job-name", name));
        spec.put("ports", List.of(ordered("name", "rendezvous", "port", PORT)));
        object.put("spec", spec);
        return object;
    }

    private Map<String, Object> job() {
        Map<String, Object> object = object("batch/v1", "Job");
        object.put("spec", jobSpec());
        return object;
    }

    private Map<String, Object> jobSpec() {
        Map<String, Object> spec = new LinkedHashMap<>();
        spec.put("completionMode", "Indexed");
        spec.put("completions", pods);
        spec.put("parallelism", pods);
        spec.put("backoffLimit", pods * STARTS_AGAIN);
        deadlineSeconds.ifPresent(seconds -> spec.put("activeDeadlineSeconds", seconds));
        spec.put(
                "podFailurePolicy",
                Map.of(
                        "rules",
                        List.of(
                                ordered(
                                        "action",
                                        "FailJob",
                                        "onExitCodes",
                                        ordered("containerName", "jrun", "operator", "In", "values", FINAL_CODES)),
                                ordered(
                                        "action",
                                        "Ignore",
                                        "onPodConditions",
                                        List.of(ordered("type", "DisruptionTarget", "status", "True"))))));
        spec.put("template", Map.of("spec", pod()));
        return spec;
    }

    private Map<String, Object> pod() {
        Map<String, Object> pod = new LinkedHashMap<>();
        pod.put("subdomain", name);
        pod.put("restartPolicy", "Never");
        pod.put("terminationGracePeriodSeconds", graceSeconds);
        pod.put("containers", List.of(container()));
        pod.put(
                "volumes",
                List.of(
                        ordered("name", "secret", "secret", ordered("secretName", name, "defaultMode", OWNER_READS)),
                        ordered("name", "shm", "emptyDir", Map.of("medium", "Memory"))));
        return pod;
    }

    private Map<String, Object> container() {
        Map<String, Object> container = new LinkedHashMap<>();
        container.put("name", "jrun");
        container.put("image", image);
        // Kubernetes replaces $(NAME) by a variable of the container.
        container.put(
                "command",
                command.stream().map(word -> word.replace("$(", "$$(")).toList());
        container.put(
                "env",
                List.of(
                        ordered("name", "JRUN_NNODES", "value", Integer.toString(pods)),
                        ordered("name", "JRUN_RDZV_ENDPOINT", "value", firstPod() + ":" + PORT),
                        ordered("name", "JRUN_SECRET_FILE", "value", SECRET_FOLDER + "/secret")));
        Map<String, Object> limits = new LinkedHashMap<>();
        if (gpus > 0) {
            limits.put("nvidia.com/gpu", Integer.toString(gpus)); // a quantity, which is a text
        }
        memory.ifPresent(amount -> limits.put("memory", amount));
        if (!limits.isEmpty()) {
            container.put("resources", Map.of("limits", limits));
        }
        container.put(
                "volumeMounts",
                List.of(
                        ordered("name", "secret", "mountPath", SECRET_FOLDER, "readOnly", true),
                        ordered("name", "shm", "mountPath", "/dev/shm")));
        return container;
    }

    private Map<String, Object> object(String version, String kind) {
        return ordered("apiVersion", version, "kind", kind, "metadata", Map.of("name", name));
    }

    /** A map that keeps the order of its pairs. */
    private static Map<String, Object> ordered(Object... pairs) {
        Map<String, Object> map = new LinkedHashMap<>();
        for (int i = 0; i < pairs.length; i += 2) {
            map.put((String) pairs[i], pairs[i + 1]);
        }
        return map;
    }
}
