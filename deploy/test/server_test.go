package deploytest

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	podvalidation "k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/apps"
	_ "k8s.io/kubernetes/pkg/apis/apps/v1" // defaults and conversions, as of the three below
	appsvalidation "k8s.io/kubernetes/pkg/apis/apps/validation"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/v1"
	corevalidation "k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/pkg/apis/networking"
	_ "k8s.io/kubernetes/pkg/apis/networking/v1"
	networkingvalidation "k8s.io/kubernetes/pkg/apis/networking/validation"
	"k8s.io/kubernetes/pkg/apis/policy"
	_ "k8s.io/kubernetes/pkg/apis/policy/v1"
	policyvalidation "k8s.io/kubernetes/pkg/apis/policy/validation"
)

// admitted does what an API server does with an object that is created: it fills in defaults,
// and validates. Its error has all faults, words that a field doesn't take among them.
func admitted(ctx context.Context, object runtime.Object) error {
	object = object.DeepCopyObject()
	if named, ok := object.(metav1.Object); ok {
		named.SetNamespace("kafka") // the server takes it from the request's path.
	}
	kinds.Default(object)
	internal, err := kinds.ConvertToVersion(object, runtime.InternalGroupVersioner)
	if err != nil {
		return err
	}
	return append(kinds.Validate(ctx, nil, object), validate(internal)...).ToAggregate()
}

// validate has the server's function for each kind that the chart makes.
func validate(object runtime.Object) field.ErrorList {
	switch o := object.(type) {
	case *core.ConfigMap:
		return corevalidation.ValidateConfigMap(o)
	case *core.Service:
		if o.Spec.ClusterIP != "" {
			o.Spec.ClusterIPs = []string{o.Spec.ClusterIP} // as the server fills it in.
		}
		return corevalidation.ValidateServiceCreate(o)
	case *core.ServiceAccount:
		return corevalidation.ValidateServiceAccount(o)
	case *apps.StatefulSet:
		pod := podvalidation.GetValidationOptionsFromPodTemplate(&o.Spec.Template, nil)
		return appsvalidation.ValidateStatefulSet(o, appsvalidation.StatefulSetValidationOptions{}, pod)
	case *networking.NetworkPolicy:
		return networkingvalidation.ValidateNetworkPolicy(o, networkingvalidation.ValidationOptionsForNetworking(o, nil))
	case *policy.PodDisruptionBudget:
		return policyvalidation.ValidatePodDisruptionBudget(o, policyvalidation.PodDisruptionBudgetValidationOptions{})
	}
	return field.ErrorList{field.InternalError(nil, fmt.Errorf("no validation of %T", object))}
}
