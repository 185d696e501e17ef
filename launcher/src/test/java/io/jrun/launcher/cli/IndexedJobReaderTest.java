package io.jrun.launcher.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.MappingIterator;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.introspect.Annotated;
import com.fasterxml.jackson.databind.introspect.JacksonAnnotationIntrospector;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import io.fabric8.kubernetes.api.model.Container;
import io.fabric8.kubernetes.api.model.Secret;
import io.fabric8.kubernetes.api.model.Service;
import io.fabric8.kubernetes.api.model.batch.v1.Job;
import io.fabric8.kubernetes.api.model.batch.v1.JobTemplateSpec;
import io.jrun.launcher.job.UsageException;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The printed manifest, read by the model that is generated from the schemas of Kubernetes. */
class IndexedJobReaderTest {
    /** The model keeps unknown fields in a map of their own; without the map they are errors. */
    private static final ObjectMapper YAML = new ObjectMapper(new YAMLFactory())
            .enable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
            .setAnnotationIntrospector(new JacksonAnnotationIntrospector() {
                @Override
                public Boolean hasAnySetter(Annotated annotated) {
                    return false;
                }
            });

    @TempDir
    private Path folder;

    private String manifest(String... words) throws IOException {
        return manifest("kubernetes", words);
    }

    private String manifest(String to, String[] words) throws IOException {
        List<String> line = new ArrayList<>(List.of("submit", "--to=" + to));
        line.addAll(List.of(words));
        SubmitRequest request = SubmitRequest.of(ParsedCommand.of(line), new Requests(folder).context());
        return ((SubmitRequest.ToKubernetes) request).job().manifest();
    }

    /** Reads an object. A text in place of a number does not survive, and a field that the schema lacks is refused. */
    private static <T> T read(JsonNode object, Class<T> type) throws IOException {
        T model = YAML.treeToValue(object, type);
        assertThat(new ObjectMapper().readTree(new ObjectMapper().writeValueAsString(model)))
                .isEqualTo(object);
        return model;
    }

    @Test
    void theManifestFitsTheSchemas() throws IOException {
        String text = manifest(
                "--image=r.example/train:1",
                "--nnodes=2",
                "--gpus-per-node=8",
                "--time=2:00:00",
                "--mem=64G",
                "--shutdown-timeout=60",
                "--job-name=Big_Run.7",
                "--nproc-per-node=8",
                "train.jar",
                "--name=$(HOME)");
        List<JsonNode> objects = objects(text);
        assertThat(objects).hasSize(3);
        Secret secret = read(objects.get(0), Secret.class);
        assertThat(secret.getStringData().get("secret")).matches("[0-9a-f]{64}");
        Service service = read(objects.get(1), Service.class);
        assertThat(service.getSpec().getSelector()).containsEntry("job-name", "big-run-7");
        Job job = read(objects.get(2), Job.class);
        assertThat(job.getMetadata().getName()).isEqualTo("big-run-7");
        assertThat(job.getSpec().getCompletions()).isEqualTo(2);
        assertThat(job.getSpec().getActiveDeadlineSeconds()).isEqualTo(7200);
        var pod = job.getSpec().getTemplate().getSpec();
        assertThat(pod.getTerminationGracePeriodSeconds()).isEqualTo(75);
        assertThat(pod.getSubdomain()).isEqualTo(service.getMetadata().getName());
        Container container = pod.getContainers().getFirst();
        assertThat(container.getCommand())
                .containsExactly("jrun", "--shutdown-timeout=60", "--nproc-per-node=8", "train.jar", "--name=$$(HOME)");
        assertThat(container.getResources().getLimits()).containsOnlyKeys("nvidia.com/gpu", "memory");
    }

    /** The fields of a JobSet that jrun sets, by the custom resource definition of jobset.x-k8s.io. */
    private record JobSetSpec(Network network, List<ReplicatedJob> replicatedJobs) {}

    private record Network(boolean enableDNSHostnames, String subdomain, boolean publishNotReadyAddresses) {}

    private record ReplicatedJob(String name, int replicas, JobTemplateSpec template) {}

    @Test
    void aJobSetHasTheSameJob() throws IOException {
        String[] words = {"--image=r.example/train:1", "--nnodes=3", "train.jar"};
        List<JsonNode> objects = objects(manifest("jobset", words));
        assertThat(objects).hasSize(2);
        read(objects.get(0), Secret.class);
        JsonNode set = objects.get(1);
        assertThat(set.path("apiVersion").asText()).isEqualTo("jobset.x-k8s.io/v1alpha2");
        assertThat(set.path("kind").asText()).isEqualTo("JobSet");
        JobSetSpec spec = YAML.treeToValue(set.path("spec"), JobSetSpec.class);
        assertThat(spec.network()).isEqualTo(new Network(true, "train", true));
        ReplicatedJob job = spec.replicatedJobs().getFirst();
        assertThat(job.replicas()).isOne();
        Job alone = read(objects(manifest(words)).get(2), Job.class);
        Container container =
                job.template().getSpec().getTemplate().getSpec().getContainers().getFirst();
        assertThat(container.getEnv().get(1).getValue()).isEqualTo("train-" + job.name() + "-0-0.train:29400");
        container.getEnv().get(1).setValue("train-0.train:29400");
        assertThat(job.template().getSpec()).isEqualTo(alone.getSpec());
    }

    private static List<JsonNode> objects(String text) throws IOException {
        try (MappingIterator<JsonNode> documents =
                YAML.readerFor(JsonNode.class).readValues(text)) {
            return documents.readAll();
        }
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '"', textBlock = """
        train.jar                              | submit: --to=kubernetes needs --image=IMAGE, an image with jrun and the program.
        --image=x --nnodes=1:2 train.jar       | --nnodes: '1:2' is not usable; give a whole number from 1 to 10000.
        --image=x --partition=p train.jar      | --partition is an option of Slurm, and --to=kubernetes knows only --gpus-per-node, --job-name, --mem, --time. Leave it out, and edit the manifest.
        --image=x --mem=lots train.jar         | --mem: 'lots' is not usable; give a size as in Slurm: 64G.
        --image=x                              | PROGRAM is missing; usage: jrun submit [options] PROGRAM [args...].
        """)
    void whatKubernetesCannotDoIsRefused(String words, String message) {
        assertThatThrownBy(() -> manifest(words.split(" ", -1)))
                .isInstanceOf(UsageException.class)
                .hasMessage(message);
    }
}
